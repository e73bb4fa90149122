/** A status by word and shape. Colour adds to both and is never alone. */
import type { ReactNode } from 'react';

/** Drawn in a box of 16 by 16: a font may lack a sign or draw it as an emoji. */
const shapes: Readonly<Record<string, ReactNode>> = {
  circle: <circle cx="8" cy="8" r="5.5" />,
  dot: <circle cx="8" cy="8" r="5.5" className="fill" />,
  clock: <path d="M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2.2 1.4" />,
  again: <path d="M13 8a5 5 0 1 1-1.6-3.7M13.2 2.2v3.1h-3.1" />,
  check: <path d="M3 8.5l3.4 3.4L13 4.8" />,
  cross: <path d="M4 4l8 8M12 4l-8 8" />,
  barred: <path d="M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M4.2 4.2l7.6 7.6" />,
  dash: <path d="M4 8h8" />,
  square: <rect x="4" y="4" width="8" height="8" rx="1" className="fill" />,
};

const shapeOf: Readonly<Record<string, keyof typeof shapes>> = {
  pending: 'circle',
  queued: 'circle',
  running: 'dot',
  waiting: 'clock',
  retrying: 'again',
  completed: 'check',
  failed: 'cross',
  timed_out: 'cross',
  blocked: 'barred',
  invalidated: 'barred',
  skipped: 'dash',
  cancelled: 'square',
};

const tones: Readonly<Record<string, string>> = {
  completed: 'good',
  failed: 'bad',
  timed_out: 'bad',
  blocked: 'bad',
  invalidated: 'bad',
  running: 'live',
  queued: 'live',
  waiting: 'wait',
  retrying: 'wait',
};

export const toneOf = (status: string): string => tones[status] ?? 'dim';
export const wordOf = (status: string): string => status.replaceAll('_', ' ');

export const Shape = ({ status }: { readonly status: string }): ReactNode => (
  <svg className={`shape ${toneOf(status)}`} viewBox="0 0 16 16" aria-hidden="true">
    {shapes[shapeOf[status] ?? 'circle']}
  </svg>
);

export const Status = ({ status }: { readonly status: string }): ReactNode => (
  <span className={`status ${toneOf(status)}`}>
    <Shape status={status} />
    {wordOf(status)}
  </span>
);
