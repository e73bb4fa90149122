/** Checks the `workflows` export of an artifact's module. It checks marks, because the artifact bundles its own copy of the SDK. */

const mark = Symbol.for('stepwell.workflow');

interface NamedSpec {
  readonly name: string;
  readonly version?: string;
}

/** @returns an error message, or undefined for a valid list */
export function findWorkflowsError(workflows: unknown): string | undefined {
  if (workflows === undefined) return 'the module exports no `workflows`';
  if (!Array.isArray(workflows)) return '`workflows` must be an array';
  const seen = new Set<string>();
  for (const [index, each] of workflows.entries()) {
    const spec = specOf(each);
    if (spec === undefined) return `\`workflows[${index}]\` was not made by defineWorkflow`;
    const { name, version } = spec;
    const identity = JSON.stringify([name, version]);
    if (seen.has(identity))
      return `two workflows have the name ${name}${version === undefined ? ' and no version' : ` and the version ${version}`}`;
    seen.add(identity);
  }
  return undefined;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function specOf(workflow: unknown): NamedSpec | undefined {
  if (!isObject(workflow) || !(mark in workflow) || !('spec' in workflow) || !isObject(workflow.spec)) return undefined;
  const { spec } = workflow;
  if (!('name' in spec) || typeof spec.name !== 'string') return undefined;
  const version = 'version' in spec ? spec.version : undefined;
  if (version === undefined) return { name: spec.name };
  return typeof version === 'string' ? { name: spec.name, version } : undefined;
}
