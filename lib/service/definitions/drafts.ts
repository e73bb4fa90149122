/**
 * Drafts of workflows. An author saves with the revision that the change replaces, so an author never overwrites another one's change.
 * (docs/decisions/drafts.md)
 */
import { isSameJson } from '../../engine/compare.ts';
import type { Finding } from '../../engine/graph/definition.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { Scope, WorkflowName } from '../../engine/ids.ts';
import type { Draft } from '../../ports/drafts.ts';
import type { Deps } from '../deps.ts';
import { checkStoredSize } from './check-definition.ts';

type Needs = Pick<Deps, 'drafts' | 'workflows' | 'clock'>;

/** What an author saves, and the revision that it replaces; 0: there is no draft. */
export type DraftChange = Omit<Draft, 'updatedAt'>;

interface DraftConflict {
  readonly kind: 'draft_conflict';
  /** the stored draft; undefined: there is none */
  readonly current: Draft | undefined;
}

export type SaveDraftResult =
  | { readonly kind: 'saved'; readonly draft: Draft }
  | DraftConflict
  | { readonly kind: 'workflow_deleting' }
  | { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] };

/**
 * Saves the draft. A repeated request finds the draft that it saved, and succeeds.
 * @param keepsPins the author does not see the pins of the draft: those that the change does not name stay
 */
export async function saveDraft(deps: Needs, scope: Scope, request: DraftChange, keepsPins = false): Promise<SaveDraftResult> {
  const { name } = request;
  const [summary, state] = await Promise.all([deps.workflows.summary(scope, name), deps.drafts.read(scope, name)]);
  const stored = state.draft?.pinned;
  const change = keepsPins && stored !== undefined ? { ...request, pinned: { ...stored, ...request.pinned } } : request;
  const { definition, pinned } = change;
  const findings = checkStoredSize(pinned === undefined ? definition : { definition, pinned });
  if (findings.length > 0) return { kind: 'definition_invalid', findings };
  if (summary?.deletingSince !== undefined) return { kind: 'workflow_deleting' };
  if ((state.draft?.revision ?? 0) !== change.revision) return repeatedOrConflict(change, state.draft);
  const draft = { ...change, revision: state.revision + 1, updatedAt: deps.clock.now() };
  const found = await deps.drafts.save(scope, draft);
  return found === undefined ? { kind: 'saved', draft } : repeatedOrConflict(change, found.draft);
}

const repeatedOrConflict = (change: DraftChange, current: Draft | undefined): SaveDraftResult =>
  current !== undefined && isSameJson(contentOf(current), contentOf(change))
    ? { kind: 'saved', draft: current }
    : { kind: 'draft_conflict', current };

const contentOf = ({ definition, basedOn, updatedBy, pinned = {} }: DraftChange): JsonObject => ({
  definition,
  basedOn,
  updatedBy,
  pinned: Object.fromEntries(Object.entries(pinned).map(([id, pin]) => [id, { ...pin }])),
});

export async function getDraft({ drafts }: Pick<Deps, 'drafts'>, scope: Scope, name: WorkflowName): Promise<Draft | undefined> {
  return (await drafts.read(scope, name)).draft;
}

export type DeleteDraftResult = { readonly kind: 'deleted' } | { readonly kind: 'draft_not_found' } | DraftConflict;

/** @param revision the draft is deleted only if it has this revision; absent: with any revision */
export async function deleteDraft(
  { drafts }: Pick<Deps, 'drafts'>,
  scope: Scope,
  name: WorkflowName,
  revision?: number,
): Promise<DeleteDraftResult> {
  const current = (await drafts.read(scope, name)).draft;
  if (current === undefined) return { kind: 'draft_not_found' };
  if (revision !== undefined && current.revision !== revision) return { kind: 'draft_conflict', current };
  if (await drafts.remove(scope, name, current.revision)) return { kind: 'deleted' };
  // Another request changed the draft meanwhile.
  return { kind: 'draft_conflict', current: (await drafts.read(scope, name)).draft };
}
