"""The engine: checks one document (a pure function), checks a project, applies fixes.

Seams: :func:`oomlint.engine.document.examine` takes and gives plain data for each document, so that a
pool can spread documents over processes and a cache can keep what it gave. Nothing is imported here: a run
over files without Keras needs :mod:`oomlint.engine.project` and nothing else.
"""
