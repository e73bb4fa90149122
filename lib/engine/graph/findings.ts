/** The catalogue of findings. A code keeps its meaning, because builders and tests name it. */
import type { Finding } from './definition.ts';

export const findingCodes = {
  definition_too_large: 'error',
  no_trigger_node: 'error',
  duplicate_node_id: 'error',
  node_type_unknown: 'error',
  config_invalid: 'error',
  template_invalid: 'error',
  /** `{{secret:name}}` where the value would be stored, shown or passed on */
  secret_misplaced: 'error',
  /** `{{secret:name}}` in code, which templates do not reach: the script sees that text */
  secret_in_code: 'warning',
  /** a script or an expression that does not parse, or uses a feature that scripts lack, such as `await` */
  code_invalid: 'error',
  /** SQL with an unterminated string, or with numbered parameters */
  statement_invalid: 'error',
  /** a query uses a parameter that it does not declare */
  parameter_unknown: 'error',
  parameter_unused: 'warning',
  /** look-arounds and back-references, for which no linear-time matching is known */
  regex_unsupported: 'error',
  /** no node type reads this key: a typo, or a setting of another type */
  config_key_unknown: 'warning',
  reserved_name: 'error',
  orphan_source: 'error',
  orphan_target: 'error',
  self_edge: 'error',
  duplicate_edge: 'error',
  edge_into_start: 'error',
  unknown_handle: 'error',
  merge_conflict: 'error',
  cycle_detected: 'error',
  unreachable_node: 'error',
  /** a node in a loop body runs once per item, so no node outside can wait for it or lead into it */
  edge_crosses_loop: 'error',
  loop_without_body: 'error',
  end_in_loop: 'error',
  loop_too_deep: 'error',
  /** an error edge handles the failure of a parent, and the join runs without that parent */
  join_runs_after_failure: 'warning',
  /** `allSucceeded` never runs after a failed parent, so an error edge into the node has no effect */
  error_edge_never_taken: 'warning',
  duplicate_output_variable: 'error',
  argument_invalid: 'error',
  budget_invalid: 'error',
  concurrency_invalid: 'error',
  /** a test run pins an output for a node that does not exist */
  pinned_node_unknown: 'error',
  /** a later node writes a variable again, in an order that the graph fixes: allowed, and seldom intended */
  output_variable_rewritten: 'warning',
  /** a template or a script reads a name under `ctx` that no node writes: it is null in every run */
  variable_unknown: 'warning',
  /** a wait of a fixed length is longer than the declared deadline of the run */
  wait_exceeds_deadline: 'warning',
} as const satisfies Record<string, Finding['severity']>;

export type FindingCode = keyof typeof findingCodes;

export const finding = (code: FindingCode, pointer: string, message: string): Finding => ({
  severity: findingCodes[code],
  code,
  pointer,
  message,
});

/** A JSON pointer (RFC 6901) from its steps. */
export const jsonPointer = (...steps: readonly (string | number)[]): string =>
  steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

export const hasErrors = (findings: readonly Finding[]): boolean => findings.some(({ severity }) => severity === 'error');

/**
 * Limits of one definition. Sources: the checks compare nodes with nodes, and 2,000 nodes stay under a second; a request body reaches
 * a function with at most 6 MB; a version is stored compressed in one DynamoDB item of at most 400 KB.
 */
export const definitionLimits = {
  nodes: 2_000,
  edges: 10_000,
  bytes: 5_242_880,
  compressedBytes: 380_000,
  /** regular expressions, and their characters together: compiling them takes up to 1.5 s */
  patterns: 500,
  patternCharacters: 50_000,
} as const;
