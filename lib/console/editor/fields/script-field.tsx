/** A script or an expression. */
import type { ReactNode } from 'react';
import type { ControlProps } from './field-view.tsx';
import { TemplateText } from './template-text.tsx';

export const ScriptField = ({ value, onChange, described }: ControlProps): ReactNode => (
  <TemplateText described={described} value={typeof value === 'string' ? value : ''} placeholder="" onChange={onChange} />
);
