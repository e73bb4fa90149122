/** Judges a definition and stores nothing. */
import type { Finding, WorkflowDefinition } from '../engine/graph/definition.ts';
import { hasErrors } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import { judgeDefinition } from './judge-definition.ts';

export interface Judgement {
  readonly valid: boolean;
  readonly findings: readonly Finding[];
}

export const validateWorkflow = (definition: WorkflowDefinition, inspect: InspectNode): Judgement => {
  const findings = judgeDefinition(definition, inspect);
  return { valid: !hasErrors(findings), findings };
};
