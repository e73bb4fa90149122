/** Undo and redo. A change of the selection alone is no step; what one types into one field is one step. */
import type { EditorDocument } from './document.ts';

interface Edit {
  /** edits of one field have one name, and edits without a name are steps of their own */
  readonly field: string;
  /** ms since the epoch */
  readonly at: number;
}

export interface History {
  readonly past: readonly EditorDocument[];
  readonly present: EditorDocument;
  readonly future: readonly EditorDocument[];
  readonly lastEdit: Edit | undefined;
}

/** A pause of this length in one field begins the next step. */
const pauseMs = 1_500;
const maxSteps = 200;

export const historyOf = (present: EditorDocument): History => ({ past: [], present, future: [], lastEdit: undefined });

export function edited(history: History, next: EditorDocument, edit?: Edit): History {
  const { past, present, lastEdit } = history;
  if (next === present) return history;
  if (next.definition === present.definition && next.pins === present.pins) return { ...history, present: next };
  const continues = edit !== undefined && lastEdit?.field === edit.field && edit.at - lastEdit.at < pauseMs;
  return {
    past: continues ? past : [...past.slice(1 - maxSteps), present],
    present: next,
    future: [],
    lastEdit: edit,
  };
}

export function undone(history: History): History {
  const { past, present, future } = history;
  const before = past.at(-1);
  if (before === undefined) return history;
  return { past: past.slice(0, -1), present: before, future: [present, ...future], lastEdit: undefined };
}

export function redone(history: History): History {
  const { past, present, future } = history;
  const [after, ...rest] = future;
  if (after === undefined) return history;
  return { past: [...past, present], present: after, future: rest, lastEdit: undefined };
}
