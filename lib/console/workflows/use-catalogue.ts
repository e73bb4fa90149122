/** The names of secrets and models that forms complete. Without them a form works as before, so an error is not shown. */
import { useQuery } from '@tanstack/react-query';
import { type Catalogue, api } from '../api.ts';

const nothing: Catalogue = { secrets: [], models: [], databases: [] };

export const useCatalogue = (): Catalogue =>
  useQuery({ queryKey: ['catalogue'], queryFn: ({ signal }) => api.catalogue(signal), staleTime: 60_000, retry: false }).data ??
  nothing;
