"""PodTemplates."""

from __future__ import annotations

from treenail.adapters.api.core.apps import PodTemplateModel, template_of
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.pod_templates import StoredPodTemplate


class StoredPodTemplateModel(CoreObject, kw_only=True):
    """v1 PodTemplate."""

    template: PodTemplateModel


def stored_pod_template(model: StoredPodTemplateModel, reading: Reading) -> Translation:
    """Return the PodTemplate; FieldError says what is wrong with it."""
    meta = model.metadata
    meta.validate()
    found = StoredPodTemplate(
        **meta.identity,
        namespace=meta.namespace or "default",
        generation=meta.generation,
        template=template_of(model.template, reading, "template"),
    )
    return Translation(objects=(found,))
