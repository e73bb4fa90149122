/** A modal dialog that asks for a confirmation, or has the fields of a request. */
import { type ReactNode, useId, useState } from 'react';
import { ErrorText } from './error-text.tsx';
import { Modal } from './modal.tsx';

interface DialogProps {
  readonly title: string;
  /** the verb of what it does, for example `Cancel the run` */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** for differences and lists */
  readonly isWide?: boolean;
  readonly children?: ReactNode;
  /** does it; a rejection is shown, and the dialog stays open */
  readonly onConfirm: (form: FormData) => Promise<void>;
  readonly onClose: () => void;
}

export function Dialog({
  title,
  action,
  isDangerous = false,
  isWide = false,
  children,
  onConfirm,
  onClose,
}: DialogProps): ReactNode {
  const heading = useId();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async (form: FormData): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm(form);
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Modal name={{ id: heading }} className={isWide ? 'wide' : undefined} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm(new FormData(event.currentTarget));
        }}
      >
        <h2 id={heading}>{title}</h2>
        <div className="dialog-body">{children}</div>
        {error === undefined ? null : <ErrorText error={error} />}
        <div className="actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className={isDangerous ? 'danger solid' : 'primary'} disabled={isBusy}>
            {isBusy ? 'Working…' : action}
          </button>
        </div>
      </form>
    </Modal>
  );
}
