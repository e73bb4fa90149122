/** Signs that a font may lack. The button around one has its name. */
import type { ReactNode } from 'react';

const paths = {
  cross: 'M4 4l8 8M12 4l-8 8',
  up: 'M8 13V3.5M4 7l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.4 10.4l3.4 3.4',
  right: 'M3 8h9.5M9 4l4 4-4 4',
} as const;

export const Icon = ({ name }: { readonly name: keyof typeof paths }): ReactNode => (
  <svg className="shape" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
