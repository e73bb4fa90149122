/** A workflow definition, parsed: camelCase, without defaults. Immutable once published. */
import type { NodeId, WorkflowName } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';

export interface NodeDefinition {
  readonly id: NodeId;
  readonly type: string;
  readonly label?: string;
  /** settings of the node type and common settings; `lib/nodes` parses both */
  readonly config: JsonObject;
  readonly position?: { readonly x: number; readonly y: number };
}

export const mergeStrategies = ['last_write_wins', 'concat', 'array', 'json_object'] as const;
export type MergeStrategy = (typeof mergeStrategies)[number];

export type EdgeCondition =
  | { readonly type: 'equals' | 'contains'; readonly value: JsonValue }
  /** `present`: not null; `truthy`: also not false, 0 or an empty text */
  | { readonly type: 'present' | 'truthy' };

export interface EdgeDefinition {
  readonly id?: string;
  readonly source: NodeId;
  readonly target: NodeId;
  /** handle of the source; absent: the main handle */
  readonly sourceHandle?: string;
  /** path into the source's output; absent: the whole output */
  readonly sourceOutputKey?: string;
  /** name of the value in the target's inputs; absent: the edge passes no value */
  readonly targetParamLabel?: string;
  readonly mergeStrategy?: MergeStrategy;
  /** on the value that the edge carries; absent: no condition */
  readonly condition?: EdgeCondition;
}

export interface ArgumentDeclaration {
  readonly name: string;
  readonly type: 'string' | 'number' | 'boolean' | 'object' | 'array';
  readonly required: boolean;
  readonly default?: JsonValue;
}

/** Budget of one run; called runs have their own. */
export interface Budget {
  /** dispatched attempts, retries included, and calls of other workflows */
  readonly maxNodeExecutions?: number;
  /** input and output tokens that models report */
  readonly maxTokens?: number;
}

export interface WorkflowOptions {
  /** arguments of a start; absent: any input is accepted */
  readonly args?: readonly ArgumentDeclaration[];
  /** maximum duration of a run; default 7 days, at most 365 */
  readonly deadlineSeconds?: number;
  /** absent: no budget */
  readonly budget?: Budget;
  /** maximum of concurrent runs of the workflow; absent: no limit */
  readonly maxConcurrentRuns?: number;
}

export interface WorkflowDefinition {
  readonly name: WorkflowName;
  readonly nodes: readonly NodeDefinition[];
  readonly edges: readonly EdgeDefinition[];
  readonly options: WorkflowOptions;
}

/** One published version of a workflow. */
export interface WorkflowVersion extends WorkflowDefinition {
  readonly version: number;
}

/** A problem of a definition. All are reported together. An error rejects the definition, a warning does not. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  /** stable, from `findings.ts` */
  readonly code: string;
  /** a JSON pointer into the body, such as `/nodes/3/config/code` */
  readonly pointer: string;
  readonly message: string;
}
