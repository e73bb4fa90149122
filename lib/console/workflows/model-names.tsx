/** The configured models, as what an input completes. */
import type { ReactNode } from 'react';
import { useCatalogue } from './use-catalogue.ts';

export const ModelNames = ({ id }: { readonly id: string }): ReactNode => (
  <datalist id={id}>
    {useCatalogue().models.map((name) => (
      <option key={name} value={name} />
    ))}
  </datalist>
);
