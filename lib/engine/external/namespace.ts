/**
 * The namespaces of external-worker runs that the API shows: one for each project and environment, as `<project>/<environment>`. Every
 * other namespace belongs to no project, and only the library's programs see its runs.
 */
import { type Scope, environment, environmentPattern, projectId, projectIdPattern } from '../ids.ts';

/** Of the project and environment of an installation's first key, unless its settings name others. */
export const defaultNamespace = 'default/production';

export const namespaceOf = ({ projectId: project, environment: name }: Scope): string => `${project}/${name}`;

/** Undefined if the namespace belongs to no project. */
export function scopeOfNamespace(namespaceId: string): Scope | undefined {
  const [project = '', name = '', ...rest] = namespaceId.split('/');
  if (rest.length > 0 || !projectIdPattern.test(project) || !environmentPattern.test(name)) return undefined;
  return { projectId: projectId(project), environment: environment(name) };
}
