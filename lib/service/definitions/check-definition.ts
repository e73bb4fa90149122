/** Everything that is wrong with a definition: its graph, its nodes, and whether it can be stored at all. */
import { gzipSync } from 'node:zlib';
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { definitionLimits, finding, hasErrors } from '../../engine/graph/findings.ts';
import type { InspectNode } from '../../engine/graph/inspection.ts';
import { validate } from '../../engine/graph/validate.ts';

export const checkDefinition = (definition: WorkflowDefinition, inspect: InspectNode): readonly Finding[] => {
  const findings = validate(definition, inspect);
  return hasErrors(findings) ? findings : [...findings, ...checkStoredSize(definition)];
};

/** What is stored in one item has the size that an item can have. */
export const checkStoredSize = (stored: object): readonly Finding[] => {
  const packedBytes = gzipSync(JSON.stringify(stored)).length;
  if (packedBytes <= definitionLimits.compressedBytes) return [];
  const message = `compressed it has ${packedBytes} bytes, more than the limit of ${definitionLimits.compressedBytes}`;
  return [finding('definition_too_large', '', message)];
};
