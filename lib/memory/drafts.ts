/** Drafts of workflows in memory. */
import type { Scope, WorkflowName } from '../engine/ids.ts';
import type { Draft, DraftState, Drafts } from '../ports/drafts.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

export class MemoryDrafts implements Drafts {
  readonly #states = new Map<string, DraftState>();

  async read(scope: Scope, name: WorkflowName): Promise<DraftState> {
    return this.#state(scope, name);
  }

  async save(scope: Scope, draft: Draft): Promise<DraftState | undefined> {
    const { name, revision } = draft;
    const state = this.#state(scope, name);
    if (state.revision !== revision - 1) return state;
    this.#states.set(keyOf(scope, name), frozenCopy({ revision, draft }));
    return undefined;
  }

  async remove(scope: Scope, name: WorkflowName, revision: number): Promise<boolean> {
    const key = keyOf(scope, name);
    if (this.#states.get(key)?.revision !== revision) return false;
    this.#states.set(key, { revision: revision + 1 });
    return true;
  }

  #state(scope: Scope, name: WorkflowName): DraftState {
    return this.#states.get(keyOf(scope, name)) ?? { revision: 0 };
  }
}

const keyOf = (scope: Scope, name: WorkflowName): string => `${scopeName(scope)}#${name}`;
