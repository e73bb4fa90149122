/** A modal dialog of the browser: it keeps the focus inside, and Escape or a click beside it closes it. */
import { type ReactNode, useEffect, useRef } from 'react';

interface ModalProps {
  /** the id of its heading, or a text */
  readonly name: { readonly id: string } | { readonly text: string };
  readonly className?: string | undefined;
  readonly closesOutside?: boolean;
  readonly children: ReactNode;
  readonly onClose: () => void;
}

export function Modal({ name, className, closesOutside = false, children, onClose }: ModalProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    if (current?.open === false) current.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={className}
      {...('id' in name ? { 'aria-labelledby': name.id } : { 'aria-label': name.text })}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        // A click on what the dialog contains has another target.
        if (closesOutside && event.target === dialog.current) onClose();
      }}
    >
      {children}
    </dialog>
  );
}
