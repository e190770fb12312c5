/** A scrolling list that draws only the rows in sight, so that thousands cost what a screenful does. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface RowsProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly row: (index: number) => ComponentChildren;
  readonly class?: string;
  readonly label: string;
  /** Keeps the last row in sight; told `false` when the reader scrolls away from it. */
  readonly follow?: boolean;
  readonly onFollow?: (follow: boolean) => void;
  /** Brought into sight when it changes. */
  readonly show?: number;
}

const beyond = 8;

export function Rows({ count, rowHeight, row, label, follow = false, onFollow, show, class: name }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setRange(({ top }) => ({ top, height: element.clientHeight })));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (follow && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [follow, count]);
  useLayoutEffect(() => {
    const element = box.current;
    if (show === undefined || element === null) return;
    const at = show * rowHeight;
    if (at < element.scrollTop || at + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = at - element.clientHeight / 2;
    }
  }, [show, rowHeight]);
  const first = Math.max(0, Math.floor(range.top / rowHeight) - beyond);
  const last = Math.min(count, Math.ceil((range.top + range.height) / rowHeight) + beyond);
  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    setRange({ top: element.scrollTop, height: element.clientHeight });
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - rowHeight;
    if (isAtEnd !== follow) onFollow?.(isAtEnd);
  };
  return (
    <div ref={box} class={`rows ${name ?? ''}`} onScroll={onScroll}>
      <div class="rows-all" style={{ height: `${count * rowHeight}px` }}>
        <ul aria-label={label} style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, index) => row(first + index))}
        </ul>
      </div>
    </div>
  );
}
