/** The catalogue of what can be wrong with a definition. A code keeps its meaning for ever: builders and tests name it. */
import type { Finding } from './definition.ts';

export const findingCodes = {
  definition_too_large: 'error',
  no_trigger_node: 'error',
  duplicate_node_id: 'error',
  node_type_unknown: 'error',
  config_invalid: 'error',
  template_invalid: 'error',
  /** `{{secret:name}}` where it would be stored, shown or handed on */
  secret_misplaced: 'error',
  /** a script or an expression that does not parse, or asks for what scripts have not, such as `await` */
  code_invalid: 'error',
  /** SQL with a string that does not end, or with numbered parameters */
  statement_invalid: 'error',
  /** a query asks for an argument that it does not declare */
  parameter_unknown: 'error',
  parameter_unused: 'warning',
  /** look-arounds and back-references: no linear-time matching is known for them */
  regex_unsupported: 'error',
  /** nobody reads this key: a slip of the pen, or a setting of another type */
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
  /** what lies in the body of a loop runs once for each item, so nothing outside can wait for it or be waited for */
  edge_crosses_loop: 'error',
  loop_without_body: 'error',
  end_in_loop: 'error',
  loop_too_deep: 'error',
  duplicate_output_variable: 'error',
  argument_invalid: 'error',
  budget_invalid: 'error',
  concurrency_invalid: 'error',
  /** of a test run: an output is pinned for a node that is not there */
  pinned_node_unknown: 'error',
  /** a later node writes a variable again, in an order the graph fixes: allowed, and seldom meant */
  output_variable_rewritten: 'warning',
} as const satisfies Record<string, Finding['severity']>;

export type FindingCode = keyof typeof findingCodes;

export const finding = (code: FindingCode, pointer: string, message: string): Finding => ({
  severity: findingCodes[code],
  code,
  pointer,
  message,
});

/** Appends one step to a JSON pointer (RFC 6901). */
export const jsonPointer = (...steps: readonly (string | number)[]): string =>
  steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

export const hasErrors = (findings: readonly Finding[]): boolean => findings.some(({ severity }) => severity === 'error');

/**
 * What one definition may hold. Sources: the checks compare nodes with nodes, and 2,000 of them stay under a second; a body
 * reaches a function with at most 6 MB; a version is stored compressed in one DynamoDB item of at most 400 KB.
 */
export const definitionLimits = {
  nodes: 2_000,
  edges: 10_000,
  bytes: 5_242_880,
  compressedBytes: 380_000,
  /** regular expressions, and their characters together: to compile them takes up to a second and a half */
  patterns: 500,
  patternCharacters: 50_000,
} as const;
