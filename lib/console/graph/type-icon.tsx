/** A drawing for each node type. The word stands beside it, so it has no name of its own. */
import type { ReactNode } from 'react';

const icons: Readonly<Record<string, ReactNode>> = {
  start: <path d="M5 3l8 5-8 5z" />,
  end: <rect x="4" y="4" width="8" height="8" rx="1" />,
  condition: <path d="M8 2l6 6-6 6-6-6z" />,
  javascript: (
    <path d="M6 3H5a1 1 0 0 0-1 1v3L2.5 8 4 9v3a1 1 0 0 0 1 1h1M10 3h1a1 1 0 0 1 1 1v3l1.5 1-1.5 1v3a1 1 0 0 1-1 1h-1" />
  ),
  delay: <path d="M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2.2 1.4" />,
  http: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2M2 8h12M8 2c3.5 4 3.5 8 0 12M8 2c-3.5 4-3.5 8 0 12" />,
  dataQuery: <path d="M3 4c0-2.5 10-2.5 10 0v8c0 2.5-10 2.5-10 0zM3 4c0 2.5 10 2.5 10 0M3 8c0 2.5 10 2.5 10 0" />,
  signal: <path d="M8 10.5V14M5.5 8.5a3 3 0 1 1 5 0M3.5 10.5a6 6 0 1 1 9 0" />,
  subflow: <path d="M2 3h5v4H2zM9 9h5v4H9zM4.5 7v4H9" />,
  loop: <path d="M13 8a5 5 0 1 1-1.6-3.7M13.2 2.2v3.1h-3.1" />,
  lens: <path d="M8 2l1.5 4.5L14 8l-4.5 1.5L8 14l-1.5-4.5L2 8l4.5-1.5z" />,
};

export const TypeIcon = ({ type }: { readonly type: string }): ReactNode => (
  <svg className="shape" viewBox="0 0 16 16" aria-hidden="true">
    {icons[type] ?? <circle cx="8" cy="8" r="5.5" />}
  </svg>
);
