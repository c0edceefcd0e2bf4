import './facts.css';
import { Button } from '../../components/button.tsx';
import { PageView } from '../../components/page-view.tsx';
import { useAddress } from '../../lib/address.ts';
import { EntityForm } from './entity-form.tsx';
import { FactDialog } from './fact-dialog.tsx';
import { Recently } from './recently.tsx';
import { Subject } from './subject.tsx';
import { ViewSwitch } from './view-switch.tsx';

export default function FactsView() {
  const address = useAddress();
  const subject = address.get('subject');
  const fact = address.get('fact');
  return (
    <PageView
      title="Facts & graph"
      about="What is stated of a subject, when it held, what followed it, and the memories that say so."
      actions={<ViewSwitch current="facts" entity={subject} />}
    >
      <EntityForm
        label="Subject"
        value={subject}
        onShow={(name) => address.set({ subject: name, at: null, known: null, fact: null })}
      >
        {subject && (
          <Button look="quiet" onClick={() => address.set({ subject: null, at: null, known: null, fact: null })}>
            All facts
          </Button>
        )}
      </EntityForm>
      {subject ? <Subject key={subject} subject={subject} /> : <Recently />}
      {fact && <FactDialog key={fact} factId={fact} onClose={() => address.set({ fact: null }, { replace: true })} />}
    </PageView>
  );
}
