/** Limits of what an author defines: workflows, lenses, contracts. */
import { lensLimitBytes } from '../../lib/api/definition-routes.ts';
import { maxTemplateLength } from '../../lib/api/schemas/lenses.ts';
import { maxArguments, maxNoteLength } from '../../lib/api/schemas/workflows.ts';
import { definitionLimits } from '../../lib/engine/graph/findings.ts';
import { maxMatchedCharacters } from '../../lib/lens/check.ts';
import { maxPatterns, maxSchemaDepth, maxSchemaParts } from '../../lib/lens/validate-lens.ts';
import { branchLimits } from '../../lib/nodes/condition/branch.ts';
import { regexLimits } from '../../lib/nodes/condition/operators.ts';
import { maxBranches } from '../../lib/nodes/condition/shape.ts';
import { maxOutputs } from '../../lib/nodes/end/shape.ts';
import { requestLimits } from '../../lib/nodes/http/shape.ts';
import { maxCodeLength } from '../../lib/nodes/javascript/shape.ts';
import { type LimitSection, bytes, characters, count, levels, phrase } from './limit.ts';

export const definitions: LimitSection = {
  title: 'Definitions',
  intro:
    'Stepwell checks a definition before it stores it. A definition over a limit is refused with `definition_invalid` (400) and the path of each finding, unless the row says otherwise.',
  per: 'definition',
  limits: [
    {
      name: 'Nodes of a workflow',
      value: count(definitionLimits.nodes),
      atLimit: '`definition_too_large`, before anything else is checked',
      definedIn: ['lib/engine/graph/findings.ts'],
    },
    {
      name: 'Edges of a workflow',
      value: count(definitionLimits.edges),
      atLimit: '`definition_too_large`, before anything else is checked',
      definedIn: ['lib/engine/graph/findings.ts'],
    },
    {
      name: 'Body that defines a workflow',
      value: bytes(definitionLimits.bytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/engine/graph/findings.ts'],
    },
    {
      name: 'Note of a version',
      value: characters(maxNoteLength),
      per: 'version',
      atLimit: '`invalid_request` (400)',
      definedIn: ['lib/api/schemas/workflows.ts'],
    },
    {
      name: 'A version, compressed',
      value: bytes(definitionLimits.compressedBytes),
      atLimit: '`definition_too_large`: a version is one item of a table',
      definedIn: ['lib/engine/graph/findings.ts'],
    },
    {
      name: 'Declared arguments',
      value: count(maxArguments),
      atLimit: '`invalid_request` (400)',
      definedIn: ['lib/api/schemas/workflows.ts'],
    },
    {
      name: 'Branches of a condition',
      value: count(maxBranches),
      per: 'node',
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/condition/shape.ts'],
    },
    {
      name: 'Conditions of a branch',
      value: count(branchLimits.conditions),
      per: 'branch',
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/condition/branch.ts'],
    },
    {
      name: 'Expression of a condition',
      value: characters(branchLimits.expression),
      per: 'expression',
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/condition/branch.ts'],
    },
    {
      name: 'Outputs of an end node',
      value: count(maxOutputs),
      per: 'node',
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/end/shape.ts'],
    },
    {
      name: 'Script of a node',
      value: characters(maxCodeLength),
      per: 'node',
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/javascript/shape.ts'],
    },
    {
      name: 'URL of a request',
      value: characters(requestLimits.urlCharacters),
      per: 'node',
      atLimit: '`config_invalid`',
      definedIn: ['lib/nodes/http/shape.ts'],
    },
    {
      name: 'Body that publishes a lens',
      value: bytes(lensLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/definition-routes.ts'],
    },
    {
      name: 'Template of a lens',
      value: characters(maxTemplateLength),
      per: 'lens',
      atLimit: '`invalid_request` (400)',
      definedIn: ['lib/api/schemas/lenses.ts'],
    },
    {
      name: 'JSON Schema of a contract',
      value: count(maxSchemaParts, 'parts'),
      per: 'contract',
      atLimit: '`contract_invalid`. Each part counts once for each reference to it',
      definedIn: ['lib/lens/validate-lens.ts'],
    },
    {
      name: 'Patterns of a contract',
      value: count(maxPatterns),
      per: 'contract',
      atLimit: '`contract_invalid`',
      definedIn: ['lib/lens/validate-lens.ts'],
    },
    {
      name: 'Text matched by a contract’s patterns',
      value: characters(maxMatchedCharacters),
      per: 'check',
      atLimit: '`schema_violation`. The limit applies to one check, and a large pattern counts more',
      definedIn: ['lib/lens/check.ts'],
    },
    {
      name: 'Depth of such a schema',
      value: levels(maxSchemaDepth),
      per: 'contract',
      atLimit: '`contract_invalid`',
      definedIn: ['lib/lens/validate-lens.ts'],
    },
    {
      name: 'Regular expression',
      value: characters(regexLimits.pattern),
      per: 'expression',
      atLimit: '`config_invalid`. A longer one that is resolved when the node runs matches nothing',
      definedIn: ['lib/nodes/condition/operators.ts'],
    },
    {
      name: 'Regular expressions of a workflow',
      value: phrase`${count(definitionLimits.patterns)}, with ${characters(definitionLimits.patternCharacters)}`,
      atLimit: '`definition_too_large`. Expressions that templates produce do not count here',
      definedIn: ['lib/engine/graph/findings.ts'],
    },
  ],
  outro: [
    "Stepwell refuses look-arounds and back-references with `regex_unsupported`. It matches all other patterns in linear time. A workflow's name and a node's id have at most 128 characters.",
  ],
};
