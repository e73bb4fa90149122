/** Parses the properties of a resource, or names the resource and what the embedded cloud does not implement of it. */
import * as z from 'zod';
import type { Resource } from './template.ts';
import { TemplateError } from './template-error.ts';

export function parseProperties<Output>(
  { logicalId, properties }: Pick<Resource, 'logicalId' | 'properties'>,
  schema: z.ZodType<Output>,
): Output {
  const parsed = schema.safeParse(properties);
  if (!parsed.success) throw new TemplateError(`${logicalId} is not valid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

const ofApi = z.looseObject({ ApiId: z.string() });

/** Of resources that belong to an API of API Gateway v2, those of this API. */
export const resourcesOf = (apiId: string, resources: readonly Resource[]): readonly Resource[] =>
  resources.filter((resource) => parseProperties(resource, ofApi).ApiId === apiId);

const protocol = z.looseObject({ ProtocolType: z.enum(['HTTP', 'WEBSOCKET']) });

/** The APIs of API Gateway v2 with this protocol. */
export const apisOf = (type: 'HTTP' | 'WEBSOCKET', resources: readonly Resource[]): readonly Resource[] =>
  resources.filter((resource) => parseProperties(resource, protocol).ProtocolType === type);
