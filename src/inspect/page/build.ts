/**
 * Builds the inspector page: one HTML file that needs nothing else, with a policy that lets it run its own script and
 * style, talk to the server it came from, and nothing more.
 *
 *   node src/inspect/page/build.ts OUT.html
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

export interface BuiltPage {
  readonly html: string;
}

export async function buildPage(): Promise<BuiltPage> {
  const root = fileURLToPath(new URL('.', import.meta.url));
  const result = await build({
    root,
    configFile: false,
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      write: false,
      target: 'es2022',
      cssCodeSplit: false,
      modulePreload: false,
      rolldownOptions: { input: `${root}main.tsx`, output: { format: 'iife', codeSplitting: false } },
    },
  });
  const outputs = [result].flat().flatMap((one) => ('output' in one ? one.output : []));
  const script = outputs.flatMap((one) => (one.type === 'chunk' ? [one.code] : [])).join('\n');
  const style = outputs
    .flatMap((one) => (one.type === 'asset' && one.fileName.endsWith('.css') ? [String(one.source)] : []))
    .join('\n');
  return { html: page(script.trim().replaceAll('</script', '<\\/script'), style.trim()) };
}

function page(script: string, style: string): string {
  const policy = [
    "default-src 'none'",
    `script-src '${digest(script)}'`,
    `style-src '${digest(style)}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const icon = `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="1" y="3" width="7" height="3" rx="1.5" fill="#3b82f6"/><rect x="5" y="7" width="10" height="3" rx="1.5" fill="#16a34a"/><rect x="3" y="11" width="6" height="3" rx="1.5" fill="#d97706"/></svg>',
  )}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>podwright</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<script>${script}</script>
</body>
</html>
`;
}

function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

const [, started, out] = process.argv;
if (started === fileURLToPath(import.meta.url) && out !== undefined) {
  const { html } = await buildPage();
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, html);
}
