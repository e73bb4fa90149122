/** A script or a text with templates: an ordinary field until CodeMirror is loaded. */
import { type ReactNode, Suspense, lazy } from 'react';
import type { Described } from './field-view.tsx';

const CodeMirrorField = lazy(() => import('./code-mirror.tsx'));

export interface TypedTextProps {
  readonly language: 'script' | 'template';
  readonly described: Described;
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  /** the template may contain `{{secret:name}}` */
  readonly acceptsSecrets?: boolean;
  readonly onChange: (text: string) => void;
}

const maxRows = 14;

export const TypedText = (props: TypedTextProps): ReactNode => (
  <Suspense fallback={<PlainText {...props} />}>
    <CodeMirrorField {...props} />
  </Suspense>
);

const PlainText = ({ described: { id, describedBy, isInvalid }, value, placeholder, onChange }: TypedTextProps): ReactNode => (
  <textarea
    id={id}
    aria-describedby={describedBy}
    aria-invalid={isInvalid || undefined}
    rows={Math.min(maxRows, value.split('\n').length)}
    value={value}
    placeholder={placeholder}
    spellCheck={false}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
