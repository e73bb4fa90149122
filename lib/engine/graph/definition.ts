/** A workflow as its author drew it, parsed: camelCase, defaults not yet filled in. Immutable once published. */
import type { NodeId, WorkflowName } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';

export interface NodeDefinition {
  readonly id: NodeId;
  readonly type: string;
  readonly label?: string;
  /** the node type's own settings beside the ones every node has; `lib/nodes` parses both */
  readonly config: JsonObject;
  readonly position?: { readonly x: number; readonly y: number };
}

export const mergeStrategies = ['last_write_wins', 'concat', 'array', 'json_object'] as const;
export type MergeStrategy = (typeof mergeStrategies)[number];

export type EdgeCondition =
  | { readonly type: 'equals' | 'contains'; readonly value: JsonValue }
  /** not null; or besides neither false, 0 nor an empty text */
  | { readonly type: 'present' | 'truthy' };

export interface EdgeDefinition {
  readonly id?: string;
  readonly source: NodeId;
  readonly target: NodeId;
  /** which way out of the source; absent: the main one */
  readonly sourceHandle?: string;
  /** a path into the source's output; absent: all of it */
  readonly sourceOutputKey?: string;
  /** the name under which the target gets the value; absent: none is passed by this edge */
  readonly targetParamLabel?: string;
  readonly mergeStrategy?: MergeStrategy;
  /** on the value that it would carry; absent: it is taken whatever that is */
  readonly condition?: EdgeCondition;
}

export interface ArgumentDeclaration {
  readonly name: string;
  readonly type: 'string' | 'number' | 'boolean' | 'object' | 'array';
  readonly required: boolean;
  readonly default?: JsonValue;
}

/** What one run may use up; what it calls has a budget of its own. */
export interface Budget {
  /** attempts that workers are asked for, the repetitions too, and calls of other workflows */
  readonly maxNodeExecutions?: number;
  /** input and output tokens that models report */
  readonly maxTokens?: number;
}

export interface WorkflowOptions {
  /** the arguments a start must bring; absent: anything is taken */
  readonly args?: readonly ArgumentDeclaration[];
  /** how long a run may take at most; 7 days where absent, 365 at most */
  readonly deadlineSeconds?: number;
  /** absent: a run ends by its graph or its deadline alone */
  readonly budget?: Budget;
  /** runs of the workflow that may be at work at once; absent: any number */
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

/** Something wrong with a definition. All are reported at once. An error refuses the definition, a warning does not. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  /** stable, from the catalogue in `findings.ts` */
  readonly code: string;
  /** where: a JSON pointer into the body, such as `/nodes/3/config/code` */
  readonly pointer: string;
  readonly message: string;
}
