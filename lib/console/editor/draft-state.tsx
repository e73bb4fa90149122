/** Whether the server has what one sees, and what one can do if it has something else. */
import { type ReactNode, Suspense, lazy, useState } from 'react';
import { Ago } from '../primitives/time.tsx';
import { LeaveGuard } from './leave-guard.tsx';
import type { DraftSaving } from './use-draft.ts';

const DraftConflict = lazy(() => import('./draft-conflict.tsx').then(({ DraftConflict: component }) => ({ default: component })));

interface DraftStateProps {
  readonly draft: DraftSaving;
  /** takes the draft that another author has saved */
  readonly onTake: () => Promise<void>;
}

export function DraftStateView({ draft, onTake }: DraftStateProps): ReactNode {
  const { state, basedOn } = draft;
  const [isChoosing, setChoosing] = useState(false);
  return (
    <span className="draft-state small" role="status">
      <span className="chip">{basedOn === null ? 'not published' : `on v${basedOn}`}</span>
      <StateText state={state} />
      <LeaveGuard isUnsaved={state.kind !== 'saved'} />
      {state.kind === 'conflict' ? (
        <button type="button" className="danger" onClick={() => setChoosing(true)}>
          Choose…
        </button>
      ) : null}
      {isChoosing && state.kind === 'conflict' ? (
        <Suspense fallback={null}>
          <DraftConflict current={state.current} onTake={onTake} onKeep={draft.overwrite} onClose={() => setChoosing(false)} />
        </Suspense>
      ) : null}
    </span>
  );
}

const StateText = ({ state }: { readonly state: DraftSaving['state'] }): ReactNode => {
  switch (state.kind) {
    case 'saved':
      return state.at === undefined ? (
        <span className="dim">no changes</span>
      ) : (
        <span className="dim">
          draft saved <Ago at={state.at} />
        </span>
      );
    case 'unsaved':
      return <span className="dim">saving…</span>;
    case 'failed':
      return (
        <span className="bad" title={state.error instanceof Error ? state.error.message : ''}>
          not saved; a copy is in this browser, and it is tried again
        </span>
      );
    case 'conflict':
      return <span className="bad">another author saved a draft</span>;
  }
};
