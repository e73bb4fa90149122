import type { PublishBody, WorkflowDetail } from '../api.ts';

/** The body that publishes a definition, which the server has accepted before. */
export const publishable = ({ nodes, edges, options }: Pick<WorkflowDetail, 'nodes' | 'edges' | 'options'>): PublishBody => {
  const definition: unknown = { nodes, edges, options };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server checks the body, and has returned this definition
  return definition as PublishBody;
};
