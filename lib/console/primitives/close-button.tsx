/** Closes a panel. */
import type { ReactNode } from 'react';

export const CloseButton = ({ label, onClose }: { readonly label: string; readonly onClose: () => void }): ReactNode => (
  <button type="button" className="quiet" onClick={onClose} aria-label={label}>
    <svg className="shape" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M4 4l8 8M12 4l-8 8" />
    </svg>
  </button>
);
