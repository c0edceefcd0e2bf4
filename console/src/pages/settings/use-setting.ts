import type { AnyVariables, TypedDocumentNode } from '@urql/preact';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import { useMe } from '../../lib/me.ts';

/** A setting that is kept as soon as it is chosen: what its field is given, and how a choice is sent. */
export function useSetting<Data, Variables extends AnyVariables>(
  mutation: TypedDocumentNode<Data, Variables>,
  onKept: () => void,
) {
  const { isReadOnly } = useMe();
  const { run, isBusy, error } = useAction(mutation);
  const keep = async (variables: Variables, said = 'Kept') => {
    if (isBusy || !(await run(variables))) return;
    toast(said);
    onKept();
  };
  return { keep, field: { isBusy, isDisabled: isReadOnly === true, problem: error ? explain(error).text : null } };
}
