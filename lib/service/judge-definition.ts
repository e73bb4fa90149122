/** Everything that is wrong with a definition: its graph, its nodes, and whether it can be stored at all. */
import { gzipSync } from 'node:zlib';
import type { Finding, WorkflowDefinition } from '../engine/graph/definition.ts';
import { definitionLimits, finding, hasErrors } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import { validate } from '../engine/graph/validate.ts';

export const judgeDefinition = (definition: WorkflowDefinition, inspect: InspectNode): readonly Finding[] => {
  const findings = validate(definition, inspect);
  if (hasErrors(findings)) return findings;
  const packedBytes = gzipSync(JSON.stringify(definition)).length;
  if (packedBytes <= definitionLimits.packedBytes) return findings;
  const message = `compressed it has ${packedBytes} bytes, more than the limit of ${definitionLimits.packedBytes}`;
  return [...findings, finding('definition_too_large', '', message)];
};
