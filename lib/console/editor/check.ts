/** Checks a definition with the server's own rules, in the browser. */
import './without-eval.ts';
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import { validate } from '../../engine/graph/validate.ts';
import { inspectNode } from '../../nodes/catalogue.ts';
import { type PlacedFinding, placed } from './findings.ts';

export const check = (definition: WorkflowDefinition): readonly PlacedFinding[] =>
  placed(validate(definition, inspectNode), definition);
