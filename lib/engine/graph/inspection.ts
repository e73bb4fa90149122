/** What a node type says about one of its nodes, before anything runs. `lib/nodes` answers; the graph's rules ask. */
import type { NodeDefinition } from './definition.ts';
import { type FindingCode, definitionLimits } from './findings.ts';
import type { NodePolicy } from './plan.ts';

/** What the graph's rules must know of a node whose config could be read. */
export interface NodeFacts {
  readonly policy: Pick<NodePolicy, 'outputVariable' | 'joinMode' | 'onParentFailure'>;
  /** every name an edge may leave it by; none for an end */
  readonly handles: readonly string[];
  /** it begins a run, and nothing may lead into it */
  readonly isTrigger: boolean;
  /** it takes what lies behind its way out `loop` through the items it comes to */
  readonly isLoop?: boolean;
}

interface NodeInspection {
  /** places are relative to the node: `/config/code` */
  readonly findings: readonly { readonly code: FindingCode; readonly pointer: string; readonly message: string }[];
  /** absent where the type is not known or the config too broken to tell */
  readonly facts?: NodeFacts;
}

/** What all nodes of a definition share while it is judged: a request has a bound for all of them. */
export class InspectionWork {
  #patterns = 0;
  #characters = 0;

  /** Whether the pattern may be compiled, each as often as it is named; `refused` is said once, and `skipped` of those behind it. */
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

/** @param work absent: the node is looked at by itself */
export type InspectNode = (node: NodeDefinition, work?: InspectionWork) => NodeInspection;
