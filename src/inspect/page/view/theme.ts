/** Dark, light, or as the system says; kept for the next visit where the browser lets a page keep anything. */
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'auto' | 'dark' | 'light';

const key = 'podwright-theme';

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(read);
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    try {
      localStorage.setItem(key, theme);
    } catch {
      // A page from a file may not have a storage; then the theme lasts as long as the page.
    }
  }, [theme]);
  return [theme, setTheme];
}

export function nextTheme(theme: Theme): Theme {
  return theme === 'auto' ? 'dark' : theme === 'dark' ? 'light' : 'auto';
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(key);
    return kept === 'dark' || kept === 'light' ? kept : 'auto';
  } catch {
    return 'auto';
  }
}
