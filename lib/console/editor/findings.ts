/** Findings about a definition, each at its node, edge or option, and at the field there. */
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';

export interface PlacedFinding extends Finding {
  /** a node id; undefined: it concerns an edge, the options or the whole definition */
  readonly nodeId: string | undefined;
  /** a position in `edges` */
  readonly edge: number | undefined;
  /** the steps below the node, the edge or the definition: `config`, `url` */
  readonly field: readonly string[];
}

const stepsOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

export function placed(findings: readonly Finding[], { nodes, edges }: WorkflowDefinition): readonly PlacedFinding[] {
  return findings.map((finding) => {
    const [part, index = '', ...field] = stepsOf(finding.pointer);
    const node = part === 'nodes' ? nodes[Number(index)] : undefined;
    if (node !== undefined) return { ...finding, nodeId: node.id, edge: undefined, field };
    const edge = part === 'edges' && edges[Number(index)] !== undefined ? Number(index) : undefined;
    if (edge !== undefined) return { ...finding, nodeId: undefined, edge, field };
    return { ...finding, nodeId: undefined, edge: undefined, field: stepsOf(finding.pointer) };
  });
}

/** The findings at a field, and at the values inside it if it has no fields of its own. */
export const findingsAt = (
  findings: readonly PlacedFinding[],
  field: readonly string[],
  hasInner = false,
): readonly PlacedFinding[] =>
  findings.filter(
    (finding) =>
      field.every((step, index) => finding.field[index] === step) && (hasInner || finding.field.length === field.length),
  );

/** What only the server can decide: the syntax of scripts, and patterns. */
export const serverOnlyCodes: readonly string[] = ['code_invalid', 'regex_unsupported'];
