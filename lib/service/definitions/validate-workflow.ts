/** Validates a definition without storing it. */
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { hasErrors } from '../../engine/graph/findings.ts';
import type { InspectNode } from '../../engine/graph/inspection.ts';
import { checkDefinition } from './check-definition.ts';

export interface ValidationResult {
  readonly valid: boolean;
  readonly findings: readonly Finding[];
}

export const validateWorkflow = (definition: WorkflowDefinition, inspect: InspectNode): ValidationResult => {
  const findings = checkDefinition(definition, inspect);
  return { valid: !hasErrors(findings), findings };
};
