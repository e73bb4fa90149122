/** Asks before one leaves unsaved work. The browser asks by itself when the window closes. */
import { type ReactNode, useEffect, useState } from 'react';
import { Dialog } from '../primitives/dialog.tsx';
import { guardLeaving } from '../router.tsx';

export function LeaveGuard({ isUnsaved }: { readonly isUnsaved: boolean }): ReactNode {
  const [leave, setLeave] = useState<{ readonly go: () => void } | undefined>();
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    const end = guardLeaving((go) => setLeave({ go }));
    return () => {
      removeEventListener('beforeunload', warn);
      end();
    };
  }, [isUnsaved]);
  if (leave === undefined) return null;
  return (
    <Dialog
      title="Leave unsaved work?"
      action="Leave"
      isDangerous
      onClose={() => setLeave(undefined)}
      onConfirm={() => {
        leave.go();
        return Promise.resolve();
      }}
    >
      <p>
        The server does not have your last changes. A copy stays in this browser, and the editor offers it when you come back.
      </p>
    </Dialog>
  );
}
