/** A modal dialog of the browser: it keeps the focus inside, and Escape closes it. */
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { ErrorText } from './error-text.tsx';

interface DialogProps {
  readonly title: string;
  /** the verb of what it does, for example `Cancel the run` */
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly children?: ReactNode;
  /** does it; a rejection is shown, and the dialog stays open */
  readonly onConfirm: (form: FormData) => Promise<void>;
  readonly onClose: () => void;
}

export function Dialog({ title, action, isDangerous = false, children, onConfirm, onClose }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  const confirm = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    onConfirm(new FormData(event.currentTarget)).then(onClose, (failure: unknown) => {
      setError(failure);
      setBusy(false);
    });
  };
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <form onSubmit={confirm}>
        <h2 id={heading}>{title}</h2>
        {children}
        {error === undefined ? null : <ErrorText error={error} />}
        <div className="actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className={isDangerous ? 'danger' : 'primary'} disabled={isBusy}>
            {isBusy ? 'Working…' : action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
