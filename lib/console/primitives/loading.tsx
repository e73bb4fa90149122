/** A page or a panel whose content has not arrived. It appears after a moment, so that a fast answer shows no flicker. */
import type { ReactNode } from 'react';

export const Loading = (): ReactNode => (
  <p className="loading" aria-busy="true">
    Loading…
  </p>
);
