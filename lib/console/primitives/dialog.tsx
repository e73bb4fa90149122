/** A modal dialog of the browser: it keeps the focus inside, and Escape closes it. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { ErrorText } from './error-text.tsx';

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
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const { current } = dialog;
    if (current?.open === false) current.showModal();
    return () => current?.close();
  }, []);
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
    <dialog
      ref={dialog}
      className={isWide ? 'wide' : undefined}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
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
    </dialog>
  );
}
