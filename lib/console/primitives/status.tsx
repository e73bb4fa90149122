/** A status by word and shape. Colour adds to both and is never alone. */
import type { ReactNode } from 'react';

const shapes: Readonly<Record<string, string>> = {
  pending: '○',
  queued: '○',
  running: '●',
  waiting: '◷',
  retrying: '↻',
  completed: '✓',
  failed: '✕',
  timed_out: '✕',
  blocked: '⊘',
  invalidated: '⊘',
  skipped: '–',
  cancelled: '■',
};

export const toneOf = (status: string): string => {
  if (status === 'completed') return 'good';
  if (['failed', 'timed_out', 'blocked', 'invalidated'].includes(status)) return 'bad';
  if (['running', 'queued'].includes(status)) return 'live';
  if (['waiting', 'retrying'].includes(status)) return 'wait';
  return 'dim';
};

export const shapeOf = (status: string): string => shapes[status] ?? '○';

export const Status = ({ status }: { readonly status: string }): ReactNode => (
  <span className={`status ${toneOf(status)}`}>
    <span aria-hidden="true">{shapeOf(status)}</span> {status.replace('_', ' ')}
  </span>
);
