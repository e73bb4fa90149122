/** Checks a definition with the server's own rules, in the browser. */
import './without-eval.ts';
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import { validate } from '../../engine/graph/validate.ts';
import { inspectNode } from '../../nodes/catalogue.ts';
import { type PlacedFinding, placed } from './findings.ts';

export const check = (definition: WorkflowDefinition): readonly PlacedFinding[] =>
  placed(validate(definition, inspectNode), definition);

/** What only the server can decide: the syntax of scripts, and patterns. */
export const serverOnlyCodes: readonly string[] = ['code_invalid', 'regex_unsupported'];
