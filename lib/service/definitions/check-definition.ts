/** Checks a definition: its graph, its nodes and its stored size. */
import { gzipSync } from 'node:zlib';
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { definitionLimits, finding, hasErrors } from '../../engine/graph/findings.ts';
import type { InspectNode } from '../../engine/graph/inspection.ts';
import { validate } from '../../engine/graph/validate.ts';

export const checkDefinition = (definition: WorkflowDefinition, inspect: InspectNode): readonly Finding[] => {
  const findings = validate(definition, inspect);
  return hasErrors(findings) ? findings : [...findings, ...checkStoredSize(definition)];
};

/** Reports a definition that is too large for one item. */
export const checkStoredSize = (stored: object): readonly Finding[] => {
  const packedBytes = gzipSync(JSON.stringify(stored)).length;
  if (packedBytes <= definitionLimits.compressedBytes) return [];
  const message = `the compressed definition has ${packedBytes} bytes; the limit is ${definitionLimits.compressedBytes}`;
  return [finding('definition_too_large', '', message)];
};
