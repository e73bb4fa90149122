/** Two pages have changed one draft: the author takes the saved one, or replaces it. */
import type { ReactNode } from 'react';
import type { CurrentState } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { Ago } from '../primitives/time.tsx';

interface DraftConflictProps {
  readonly current: CurrentState;
  readonly onTake: () => Promise<void>;
  readonly onKeep: () => void;
  readonly onClose: () => void;
}

export const DraftConflict = ({ current, onTake, onKeep, onClose }: DraftConflictProps): ReactNode => (
  <Dialog title="Two people edit this workflow" action="Take the saved draft" onClose={onClose} onConfirm={onTake}>
    <p>
      <b>{current.by ?? 'Another author'}</b> saved a draft
      {current.at === undefined ? (
        ''
      ) : (
        <>
          {' '}
          <Ago at={current.at} />
        </>
      )}
      , after this page had read it.
    </p>
    <p>Take the saved draft, and what you changed since is gone. Or keep what you see, and it replaces the saved draft.</p>
    <button
      type="button"
      className="danger"
      onClick={() => {
        onClose();
        onKeep();
      }}
    >
      Keep mine, and replace the saved draft
    </button>
  </Dialog>
);
