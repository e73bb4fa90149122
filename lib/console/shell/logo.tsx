/** The sign of the product: three steps. */
import type { ReactNode } from 'react';

export const Logo = (): ReactNode => (
  <svg className="logo" viewBox="0 0 20 20" aria-hidden="true">
    <path d="M2 4h5v5h5v5h6" />
  </svg>
);
