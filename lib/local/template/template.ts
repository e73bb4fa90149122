/** All stacks as one set of resources with every intrinsic resolved. */
import type { Assembly, RawResource, Stack } from './assembly.ts';
import { resolveValue, type TemplateScope } from './intrinsics.ts';
import { bucketNotificationsType, hasNoBehaviour, findType, type Naming, type ResourceType } from './resource-types.ts';
import { TemplateError } from './template-error.ts';

export interface Resource {
  readonly stack: string;
  readonly logicalId: string;
  /** the path of its construct in the CDK app; undefined where the template does not contain it */
  readonly path?: string | undefined;
  readonly type: string;
  /** its own name, such as the table's or the queue's */
  readonly name: string;
  /** the value of `Ref` */
  readonly ref: string;
  /** undefined where the type has no ARN */
  readonly arn: string | undefined;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface Template {
  readonly all: readonly Resource[];
  /** the resources of these types, in the order of the template */
  of(...types: readonly string[]): readonly Resource[];
  /** resolved outputs by name, over all stacks */
  readonly outputs: ReadonlyMap<string, unknown>;
  /** the types without local behaviour that were found, and how often */
  readonly ignored: ReadonlyMap<string, number>;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An ARN names one resource: AWS refuses to create a second one, also in another stack. */
function rejectDuplicateArns(resources: readonly Resource[]): void {
  const byArn = new Map<string, Resource>();
  for (const resource of resources) {
    const { arn, stack, logicalId, name } = resource;
    const duplicate = arn === undefined ? undefined : byArn.get(arn);
    if (duplicate !== undefined)
      throw new TemplateError(`both ${duplicate.stack}/${duplicate.logicalId} and ${stack}/${logicalId} have the name '${name}'`);
    if (arn !== undefined) byArn.set(arn, resource);
  }
}

/** The resources without the functions that only write the notifications of buckets. */
function withoutNotificationFunctions(resources: readonly Resource[]): readonly Resource[] {
  const writers = new Set(
    resources.filter(({ type }) => type === bucketNotificationsType).map(({ properties }) => properties['ServiceToken']),
  );
  return resources.filter(({ type, arn }) => type !== 'AWS::Lambda::Function' || !writers.has(arn));
}

/** Where the template's URLs lead: the gateway, and the WebSocket API. */
interface Endpoints {
  readonly endpoint: string;
  readonly sockets: string;
}

/** Resolves the intrinsics of all stacks, which can refer to each other. */
class Resolver {
  readonly #stacks: readonly Stack[];
  readonly #endpoints: Endpoints;
  readonly #scopes = new Map<string, TemplateScope>();

  constructor(stacks: readonly Stack[], endpoints: Endpoints) {
    this.#stacks = stacks;
    this.#endpoints = endpoints;
  }

  scopeOf(stack: Stack): TemplateScope {
    const known = this.#scopes.get(stack.name);
    if (known !== undefined) return known;
    const { Parameters, Conditions, Mappings } = stack.template;
    const scope: TemplateScope = {
      stackName: stack.name,
      ref: (id) => {
        const parameter = Parameters[id];
        if (parameter !== undefined) return parameter.Default ?? '';
        const found = this.#find(stack, id);
        return found?.type.ref(found.naming);
      },
      attribute: (id, name) => {
        const found = this.#find(stack, id);
        const attribute = found?.type.attributes[name];
        if (found === undefined || attribute === undefined) {
          throw new TemplateError(`${stack.name}: the attribute ${name} of ${id} is not implemented by the embedded cloud`);
        }
        return attribute(found.naming);
      },
      condition: (name) => {
        if (!Object.hasOwn(Conditions, name)) throw new TemplateError(`${stack.name}: no condition is named '${name}'`);
        return resolveValue(Conditions[name], scope);
      },
      exported: (name) => this.#exported(name),
      mapping: (map, first, second) => {
        const value = Mappings[map]?.[first]?.[second];
        if (value === undefined) throw new TemplateError(`${stack.name}: no mapping at ${map}.${first}.${second}`);
        return value;
      },
    };
    this.#scopes.set(stack.name, scope);
    return scope;
  }

  /** The resource with its properties resolved. */
  resourceOf(stack: Stack, logicalId: string, raw: RawResource, type: ResourceType): Resource {
    const naming = this.#namingOf(stack, logicalId, raw, type);
    const properties = resolveValue(raw.Properties, this.scopeOf(stack));
    return {
      stack: stack.name,
      logicalId,
      path: raw.Metadata?.['aws:cdk:path']?.replace(/\/Resource$/, ''),
      type: raw.Type,
      name: naming.name,
      ref: type.ref(naming),
      arn: type.attributes['Arn']?.(naming),
      properties: isRecord(properties) ? properties : {},
    };
  }

  #namingOf(stack: Stack, logicalId: string, resource: RawResource, type: ResourceType): Naming {
    const property = (name: string): unknown => resolveValue(resource.Properties[name], this.scopeOf(stack));
    const generated = `${stack.name}-${logicalId}`;
    const configured = type.nameProperty === undefined ? undefined : property(type.nameProperty);
    const name = typeof configured === 'string' ? configured : (type.shapeName?.(generated, property) ?? generated);
    return { generated, name, ...this.#endpoints, property };
  }

  #find(stack: Stack, logicalId: string): { naming: Naming; type: ResourceType } | undefined {
    const resource = stack.template.Resources[logicalId];
    if (resource === undefined) return undefined;
    const type = findType(resource.Type);
    if (type === undefined)
      throw new TemplateError(`${stack.name}: ${logicalId} is a ${resource.Type}, which the embedded cloud does not implement`);
    return { naming: this.#namingOf(stack, logicalId, resource, type), type };
  }

  #exported(name: string): unknown {
    for (const stack of this.#stacks) {
      for (const output of Object.values(stack.template.Outputs)) {
        if (output.Export !== undefined && resolveValue(output.Export.Name, this.scopeOf(stack)) === name) {
          return resolveValue(output.Value, this.scopeOf(stack));
        }
      }
    }
    throw new TemplateError(`no stack exports '${name}'`);
  }
}

/** Reads the assembly's stacks as CloudFormation would after a deploy to this machine. `endpoint` is the gateway's URL,
 * `sockets` the URL of the WebSocket API. */
export function readTemplate({ stacks }: Pick<Assembly, 'stacks'>, endpoint: string, sockets = endpoint): Template {
  const resolver = new Resolver(stacks, { endpoint, sockets });
  const unknownTypes = new Set<string>();
  const ignored = new Map<string, number>();
  const all: Resource[] = [];
  const outputs = new Map<string, unknown>();
  for (const stack of stacks) {
    const scope = resolver.scopeOf(stack);
    for (const [logicalId, raw] of Object.entries(stack.template.Resources)) {
      if (raw.Condition !== undefined && scope.condition(raw.Condition) !== true) continue;
      const type = findType(raw.Type);
      if (type === undefined) unknownTypes.add(`${raw.Type} (${stack.name}/${logicalId})`);
      else if (hasNoBehaviour(raw.Type)) ignored.set(raw.Type, (ignored.get(raw.Type) ?? 0) + 1);
      else all.push(resolver.resourceOf(stack, logicalId, raw, type));
    }
    for (const [name, output] of Object.entries(stack.template.Outputs)) outputs.set(name, resolveValue(output.Value, scope));
  }
  if (unknownTypes.size > 0) {
    throw new TemplateError(`the embedded cloud does not implement these resource types: ${[...unknownTypes].join(', ')}`);
  }
  rejectDuplicateArns(all);
  const run = withoutNotificationFunctions(all);
  return { all: run, of: (...types) => run.filter((resource) => types.includes(resource.type)), outputs, ignored };
}

/** The error of a resource that refers to something outside of the stacks, such as a queue that exists only in an account. */
export const inNoStack = ({ stack, logicalId, path }: Resource, what: string, name: string): TemplateError =>
  new TemplateError(
    `${what} ${name} is in no stack of the embedded cloud, and ${path ?? `${stack}/${logicalId}`} refers to it: pass the setting that names it (such as stepwell:triggers) to cdk deploy with -c instead of in cdk.json, or define the resource in the same CDK app`,
  );

/** The URL of a queue by its ARN; undefined: it is in no stack. */
export const queueUrlsOf =
  (template: Template) =>
  (arn: string): string | undefined =>
    template.of('AWS::SQS::Queue').find((queue) => queue.arn === arn)?.ref;
