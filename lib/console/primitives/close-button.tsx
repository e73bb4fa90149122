/** Closes a panel. */
import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';

export const CloseButton = ({ label, onClose }: { readonly label: string; readonly onClose: () => void }): ReactNode => (
  <button type="button" className="quiet" onClick={onClose} aria-label={label}>
    <Icon name="cross" />
  </button>
);
