/** The port of drafts: definitions that an author edits. A draft need not be valid, and its workflow need not have a version. */
import type { Scope, WorkflowName } from '../engine/ids.ts';
import type { PinnedOutputs } from '../engine/graph/pinned-outputs.ts';
import type { JsonObject } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';

export interface Draft {
  readonly name: WorkflowName;
  /** counts the writes under the name, deletions included; at least 1 */
  readonly revision: number;
  /** the version that its author started from; null: the workflow had none */
  readonly basedOn: number | null;
  readonly definition: JsonObject;
  /** outputs of nodes that do not run in its tests; absent: none, also in drafts of versions before */
  readonly pinned?: PinnedOutputs;
  readonly updatedAt: Instant;
  /** who saved it: `key:<keyId>`, or the subject of a session */
  readonly updatedBy: string;
}

export interface DraftState {
  /** the last write under the name; 0: there was none */
  readonly revision: number;
  /** absent: there is none, or it was deleted */
  readonly draft?: Draft;
}

/** A name has one draft. A deletion keeps the revision, so that an author of a deleted draft cannot overwrite a later one. */
export interface Drafts {
  /** Strongly consistent. */
  read(scope: Scope, name: WorkflowName): Promise<DraftState>;
  /** Stores the draft if the state has the revision before it. Returns the state that prevented it; undefined if it is stored. */
  save(scope: Scope, draft: Draft): Promise<DraftState | undefined>;
  /** Deletes the draft if the state has this revision; its revision becomes the next one. Returns whether it did. */
  remove(scope: Scope, name: WorkflowName, revision: number): Promise<boolean>;
}
