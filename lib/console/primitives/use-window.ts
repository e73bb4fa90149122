/** Which rows of a long list are in view. Rows have one height, so nothing is measured. */
import { useEffect, useState } from 'react';

/** Rows above and below the view, so that scrolling shows no gap. */
const spare = 6;

export function useWindow(
  scroller: HTMLElement | null,
  count: number,
  rowHeight: number,
): { readonly from: number; readonly to: number } {
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    if (scroller === null) return undefined;
    let frame = 0;
    const measure = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setView({ top: scroller.scrollTop, height: scroller.clientHeight }));
    };
    measure();
    scroller.addEventListener('scroll', measure, { passive: true });
    const resizes = new ResizeObserver(measure);
    resizes.observe(scroller);
    return () => {
      cancelAnimationFrame(frame);
      scroller.removeEventListener('scroll', measure);
      resizes.disconnect();
    };
  }, [scroller]);
  const from = Math.max(0, Math.min(Math.floor(view.top / rowHeight) - spare, count));
  return { from, to: Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + spare) };
}
