/** All stacks as one set of resources with every intrinsic resolved. */
import type { Assembly, RawResource, Stack } from './assembly.ts';
import { resolveValue, type TemplateScope } from './intrinsics.ts';
import { hasNoBehaviour, findType, type Naming, type ResourceType } from './resource-types.ts';
import { TemplateError } from './template-error.ts';

export interface Resource {
  readonly stack: string;
  readonly logicalId: string;
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

/** Reads the assembly's stacks as CloudFormation would after a deploy to this machine. `endpoint` is the gateway's URL,
 * `sockets` the URL of the WebSocket API. */
export function readTemplate(assembly: Pick<Assembly, 'stacks'>, endpoint: string, sockets = endpoint): Template {
  const unknownTypes = new Set<string>();
  const ignored = new Map<string, number>();
  const scopes = new Map<string, TemplateScope>();

  const typeOf = (resource: RawResource): ResourceType | undefined => findType(resource.Type);

  const namingOf = (stack: Stack, logicalId: string, resource: RawResource, type: ResourceType): Naming => {
    const property = (name: string): unknown => resolveValue(resource.Properties[name], scopeOf(stack));
    const generated = `${stack.name}-${logicalId}`;
    const configured = type.nameProperty === undefined ? undefined : property(type.nameProperty);
    const name = typeof configured === 'string' ? configured : (type.shapeName?.(generated, property) ?? generated);
    return { generated, name, endpoint, sockets, property };
  };

  const find = (stack: Stack, logicalId: string): { naming: Naming; type: ResourceType } | undefined => {
    const resource = stack.template.Resources[logicalId];
    if (resource === undefined) return undefined;
    const type = typeOf(resource);
    if (type === undefined)
      throw new TemplateError(`${stack.name}: ${logicalId} is a ${resource.Type}, which the embedded cloud does not implement`);
    return { naming: namingOf(stack, logicalId, resource, type), type };
  };

  const exported = (name: string): unknown => {
    for (const stack of assembly.stacks) {
      for (const output of Object.values(stack.template.Outputs)) {
        if (output.Export !== undefined && resolveValue(output.Export.Name, scopeOf(stack)) === name) {
          return resolveValue(output.Value, scopeOf(stack));
        }
      }
    }
    throw new TemplateError(`no stack exports '${name}'`);
  };

  function scopeOf(stack: Stack): TemplateScope {
    const known = scopes.get(stack.name);
    if (known !== undefined) return known;
    const { Parameters, Conditions, Mappings } = stack.template;
    const scope: TemplateScope = {
      stackName: stack.name,
      ref: (id) => {
        const parameter = Parameters[id];
        if (parameter !== undefined) return parameter.Default ?? '';
        const found = find(stack, id);
        return found?.type.ref(found.naming);
      },
      attribute: (id, name) => {
        const found = find(stack, id);
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
      exported,
      mapping: (map, first, second) => {
        const value = Mappings[map]?.[first]?.[second];
        if (value === undefined) throw new TemplateError(`${stack.name}: no mapping at ${map}.${first}.${second}`);
        return value;
      },
    };
    scopes.set(stack.name, scope);
    return scope;
  }

  const all: Resource[] = [];
  const outputs = new Map<string, unknown>();
  for (const stack of assembly.stacks) {
    const scope = scopeOf(stack);
    for (const [logicalId, raw] of Object.entries(stack.template.Resources)) {
      if (raw.Condition !== undefined && scope.condition(raw.Condition) !== true) continue;
      const type = typeOf(raw);
      if (type === undefined) {
        unknownTypes.add(`${raw.Type} (${stack.name}/${logicalId})`);
        continue;
      }
      if (hasNoBehaviour(raw.Type)) {
        ignored.set(raw.Type, (ignored.get(raw.Type) ?? 0) + 1);
        continue;
      }
      const naming = namingOf(stack, logicalId, raw, type);
      const properties = resolveValue(raw.Properties, scope);
      all.push({
        stack: stack.name,
        logicalId,
        type: raw.Type,
        name: naming.name,
        ref: type.ref(naming),
        arn: type.attributes['Arn']?.(naming),
        properties: isRecord(properties) ? properties : {},
      });
    }
    for (const [name, output] of Object.entries(stack.template.Outputs)) outputs.set(name, resolveValue(output.Value, scope));
  }
  if (unknownTypes.size > 0) {
    throw new TemplateError(`the embedded cloud does not implement these resource types: ${[...unknownTypes].join(', ')}`);
  }
  rejectDuplicateArns(all);
  return { all, of: (...types) => all.filter((resource) => types.includes(resource.type)), outputs, ignored };
}
