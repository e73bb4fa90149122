/** The session ended while a page is open: the page stays as it is, with unsaved work, until one has signed in again. */
import { type ReactNode, useState } from 'react';
import { type Session, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { formText } from '../primitives/form-text.ts';

interface SessionEndedProps {
  readonly onSignedIn: (session: Session) => void;
  /** another tab may have signed in */
  readonly onRetry: () => void;
}

export function SessionEnded({ onSignedIn, onRetry }: SessionEndedProps): ReactNode {
  const [isOpen, setOpen] = useState(true);
  return (
    <>
      <div role="alert" className="session-ended">
        <p>Your session has ended. The page shows what it read before, and unsaved work stays in this browser.</p>
        <span className="actions">
          <button type="button" onClick={() => setOpen(true)}>
            Sign in again…
          </button>
          <button type="button" onClick={onRetry}>
            I have signed in in another tab
          </button>
        </span>
      </div>
      {isOpen ? (
        <Dialog
          title="Your session has ended"
          action="Sign in"
          onClose={() => setOpen(false)}
          onConfirm={async (form) => onSignedIn(await api.signInByKey(formText(form, 'key').trim()))}
        >
          <p>Sign in again to continue where you were. Nothing that you have typed is lost.</p>
          <label>
            API key
            <input name="key" type="password" autoComplete="off" required maxLength={256} placeholder="sw_…" />
          </label>
          <p className="dim small">
            Or run <code>npx stepwell open</code>, which signs this browser in, and come back to this tab.
          </p>
        </Dialog>
      ) : null}
    </>
  );
}
