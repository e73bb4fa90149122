/**
 * Saves what one edits as the draft of the workflow: a second after the last change, one request at a time, over the revision that this
 * page has read. A copy stays in the browser until the server has it.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, type CurrentState, api } from '../api.ts';
import type { Edited } from './document.ts';
import { removeCopy, writeCopy } from './local-copy.ts';
import { definitionJson } from './read-definition.ts';
import type { Stored } from './stored.ts';

type DraftState =
  /** at undefined: there is no draft, and nothing has changed */
  | { readonly kind: 'saved'; readonly at: string | undefined }
  | { readonly kind: 'unsaved' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** another author has saved the draft */
  | { readonly kind: 'conflict'; readonly current: CurrentState };

export interface DraftSaving {
  readonly state: DraftState;
  readonly basedOn: number | null;
  readonly revision: number;
  /** saves over the revision that another author has saved */
  readonly overwrite: () => void;
  /** what is edited now is the base: a version that was published, or a draft that was loaded */
  readonly rebase: (base: Stored) => void;
}

const saveMs = 1_000;
const retryMs = 5_000;

export function useDraft({ definition, pins }: Edited, stored: Stored, key: string): DraftSaving {
  const [base, setBase] = useState({ basedOn: stored.basedOn, revision: stored.revision });
  const [state, setState] = useState<DraftState>({ kind: 'saved', at: stored.savedAt });
  const [retries, setRetries] = useState(0);
  const saved = useRef<Edited>(stored);
  const savedAt = useRef(stored.savedAt);
  const isSaving = useRef(false);
  /** how often the base was replaced: what a request says about the base before counts no more */
  const rebases = useRef(0);
  const isBlocked = state.kind === 'conflict';
  useEffect(() => {
    if (definition === saved.current.definition && pins === saved.current.pins) {
      setState((before) => (before.kind === 'unsaved' ? { kind: 'saved', at: savedAt.current } : before));
      return undefined;
    }
    writeCopy(key, { definition, pins });
    setState((before) => (before.kind === 'saved' ? { kind: 'unsaved' } : before));
    if (isBlocked || isSaving.current) return undefined;
    const save = async (): Promise<void> => {
      isSaving.current = true;
      const rebased = rebases.current;
      try {
        const draft = await api.saveDraft(definition.name, { ...base, definition: definitionJson(definition), pinned: pins });
        setBase((before) => ({ ...before, revision: draft.revision }));
        if (rebased !== rebases.current) return;
        saved.current = { definition, pins };
        savedAt.current = draft.updatedAt;
        removeCopy(key);
        setState({ kind: 'saved', at: draft.updatedAt });
      } catch (error) {
        // The publication removed the draft that the request was about. The next change is saved over the new base.
        if (rebased !== rebases.current) return setRetries((count) => count + 1);
        const isConflict = error instanceof ApiError && error.code === 'draft_conflict';
        setState(isConflict ? { kind: 'conflict', current: error.current } : { kind: 'failed', error });
        if (!isConflict) setTimeout(() => setRetries((count) => count + 1), retryMs);
      } finally {
        isSaving.current = false;
      }
    };
    const timer = setTimeout(() => void save(), saveMs);
    return () => clearTimeout(timer);
    // A saved revision, an overwritten conflict and a passed pause each lead to the next save, if something is unsaved.
  }, [definition, pins, base, retries, isBlocked, key]);
  const rebase = useCallback<DraftSaving['rebase']>(
    (next) => {
      rebases.current += 1;
      saved.current = next;
      savedAt.current = next.savedAt;
      removeCopy(key);
      setBase({ basedOn: next.basedOn, revision: next.revision });
      setState({ kind: 'saved', at: next.savedAt });
    },
    [key],
  );
  const overwrite = (): void => {
    if (state.kind !== 'conflict') return;
    const { revision = 0 } = state.current;
    setBase((before) => ({ ...before, revision }));
    setState({ kind: 'unsaved' });
  };
  return { state, basedOn: base.basedOn, revision: base.revision, overwrite, rebase };
}
