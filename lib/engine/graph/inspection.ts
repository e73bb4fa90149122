/** What a node type reports about one of its nodes before anything runs. `lib/nodes` implements it; validation uses it. */
import type { NodeDefinition } from './definition.ts';
import { type FindingCode, definitionLimits } from './findings.ts';
import type { NodePolicy } from './plan.ts';

/** A name that a node reads under `ctx`. */
export interface ContextRead {
  /** relative to the node: `/config/code` */
  readonly pointer: string;
  readonly name: string;
}

/** Facts about a node whose config could be parsed. */
export interface NodeFacts {
  /** how long the node waits at most, if its config says so */
  readonly waitMs?: number;
  readonly policy: Pick<NodePolicy, 'outputVariable' | 'joinMode' | 'onParentFailure'> &
    Partial<Pick<NodePolicy, 'errorHandling'>>;
  /** handles that edges may use; empty for an end node */
  readonly handles: readonly string[];
  /** the node starts runs, and no edge may lead into it */
  readonly isTrigger: boolean;
  /** the node runs its body, behind the handle `loop`, once per item */
  readonly isLoop?: boolean;
  /** the context names that it writes: its output variable, also a default one, and a loop's item and index */
  readonly writes?: readonly string[];
  readonly reads?: readonly ContextRead[];
  /** an end node whose end ends the run */
  readonly endsRun?: boolean;
}

interface NodeInspection {
  /** pointers are relative to the node: `/config/code` */
  readonly findings: readonly { readonly code: FindingCode; readonly pointer: string; readonly message: string }[];
  /** absent if the type is unknown or the config is not parsable */
  readonly facts?: NodeFacts;
}

/** Work shared by all nodes of a definition during validation, so that one request has one bound. */
export class InspectionWork {
  #patterns = 0;
  #characters = 0;

  /** Whether the pattern may be compiled; each occurrence counts. `refused` is returned once, `skipped` for those after it. */
  pattern({ length }: string): 'taken' | 'refused' | 'skipped' {
    if (this.#isOver) return 'skipped';
    this.#patterns += 1;
    this.#characters += length;
    return this.#isOver ? 'refused' : 'taken';
  }

  get #isOver(): boolean {
    return this.#patterns > definitionLimits.patterns || this.#characters > definitionLimits.patternCharacters;
  }
}

/** @param work absent: the node is inspected alone */
export type InspectNode = (node: NodeDefinition, work?: InspectionWork) => NodeInspection;
